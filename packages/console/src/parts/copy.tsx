import { t } from '../text/language';
import { IconButton } from './icon';
import { showToast } from './toast';

/** Copies text. Outside secure contexts, browsers support only `execCommand`. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyThroughField(text)) {
      showToast(t`The browser did not allow copying.`);
      return;
    }
  }
  showToast(t`Copied ${what}.`);
}

function copyThroughField(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.setAttribute('readonly', '');
  field.className = 'hidden-visually';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <IconButton
      icon="copy"
      label={t`Copy ${what}`}
      title={t`Copy ${what}`}
      onClick={() => copyText(text, what)}
    />
  );
}

/** One line of text with a button that copies it. */
export function CopyLine({ text, what }: { text: string; what: string }) {
  return (
    <div className="copy-line">
      <code>{text}</code>
      <span className="grow" />
      <CopyButton text={text} what={what} />
    </div>
  );
}
