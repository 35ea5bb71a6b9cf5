import { useNavigate, useSearch } from '@tanstack/react-router';
import { CodeBlock } from '../../parts/code-block';
import { Segmented } from '../../parts/segmented';
import { frameworks } from './frameworks';

/** The code of a receiver in the user's framework, with the secret filled in if it is known. */
export function ReceiverCode({ secret }: { secret: string | undefined }) {
  const chosen = useSearch({ strict: false, select: ({ framework }) => framework });
  const navigate = useNavigate();
  const framework = frameworks.find(({ key }) => key === chosen) ?? frameworks[0];
  const code = framework.code(secret ?? 'the secret of the webhook');
  return (
    <div className="stack">
      <div className="head">
        <h2>Your receiver</h2>
        <span className="grow" />
        <Segmented
          label="Framework"
          choices={frameworks}
          value={framework.key}
          onChange={(key) =>
            void navigate({
              to: '.',
              search: (now) => ({ ...now, framework: key }) as never,
              replace: true,
              resetScroll: false,
            })
          }
        />
      </div>
      <CodeBlock title={framework.file} text={code} what="the code" isProgram />
    </div>
  );
}
