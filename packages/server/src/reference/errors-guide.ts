import { type ProblemCode, problems } from '../values/problem.js';
import type { Tag } from '../web/api-document.js';
import { table } from '../web/markdown.js';

/** Returns the guide to a listener's errors: their format, and the codes it can return. */
export function errorsGuide(codes: ReadonlySet<ProblemCode>): Tag {
  const rows = Object.entries(problems)
    .filter(([code]) => codes.has(code as ProblemCode))
    .map(([code, { status, title, advice }]) => [`\`${code}\``, String(status), `**${title}.** ${advice}`]);
  const description = `Errors have the media type \`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)):

\`\`\`json
${JSON.stringify(sample, null, 2)}
\`\`\`

- \`code\` is for programs. The meaning of a code never changes.
- \`detail\` is for people and may change.
- \`errors\` lists everything that is wrong with the request. \`parameter\` is the name of a query parameter or header, and \`pointer\` is a JSON pointer into the body.
- Include \`request_id\` when you report a problem.

${table(['Code', 'Status', 'Meaning'], rows)}`;
  return { name: 'Errors', description };
}

const sample = {
  type: '/docs#problem-invalid_body',
  title: problems.invalid_body.title,
  status: problems.invalid_body.status,
  detail: '/organization_id is required.',
  code: 'invalid_body',
  request_id: '0b0f1c86-7f3f-4b43-9b39-3f1f6e2f6c55',
  errors: [{ pointer: '/organization_id', code: 'required', detail: 'is required' }],
};
