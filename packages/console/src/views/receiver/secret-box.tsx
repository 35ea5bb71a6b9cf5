import { CopyButton } from '../../parts/copy';

/** A signing secret, with a button that copies it. */
export function SecretBox({ secret }: { secret: string }) {
  return (
    <div className="secret">
      <code>{secret}</code>
      <span className="grow" />
      <CopyButton text={secret} what="the secret" />
    </div>
  );
}
