import { useSearch } from '@tanstack/react-router';
import { useSetSearch } from '../address/search';
import { CodeBlock } from '../code/code-block';
import { ProgramText } from '../code/program-text';
import { Segmented } from '../parts/button';
import { CopyLine } from '../parts/copy';
import { t } from '../text/language';
import { frameworks, placeOf } from './frameworks';

/** The code of a receiver at a URL in the user's framework, with the secret filled in if it is known. */
export function ReceiverCode({ url, secret }: { url: string; secret: string | undefined }) {
  const chosen = useSearch({ strict: false, select: ({ framework }) => framework });
  const set = useSetSearch({ replace: true });
  const framework = frameworks.find(({ key }) => key === chosen) ?? frameworks[0];
  const place = placeOf(url);
  const code = framework.code(secret, place);
  return (
    <div className="stack">
      <div className="head">
        <h2>{t`Your receiver`}</h2>
        <span className="grow" />
        <Segmented
          label={t`Framework`}
          choices={frameworks}
          value={framework.key}
          onChange={(framework) => set({ framework })}
        />
      </div>
      <CodeBlock title={framework.file(place)} text={code} what={t`the code`} isProgram>
        <ProgramText text={code} />
      </CodeBlock>
    </div>
  );
}

export function SecretBox({ secret }: { secret: string }) {
  return <CopyLine text={secret} what={t`the secret`} />;
}
