import { copyText } from '../clipboard';
import { Icon } from './icon';

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <button
      type="button"
      className="icon-btn"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => copyText(text, what)}
    >
      <Icon name="copy" />
    </button>
  );
}
