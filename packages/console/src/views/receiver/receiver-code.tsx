import { useNavigate, useSearch } from '@tanstack/react-router';
import { CodeBlock } from '../../code/code-block';
import { Segmented } from '../../parts/segmented';
import { frameworks, placeOf } from './frameworks';

/** The code of a receiver at a URL in the user's framework, with the secret filled in if it is known. */
export function ReceiverCode({ url, secret }: { url: string; secret: string | undefined }) {
  const chosen = useSearch({ strict: false, select: ({ framework }) => framework });
  const navigate = useNavigate();
  const framework = frameworks.find(({ key }) => key === chosen) ?? frameworks[0];
  const place = placeOf(url);
  const code = framework.code(secret, place);
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
      <CodeBlock title={framework.file(place)} text={code} what="the code" isProgram />
    </div>
  );
}
