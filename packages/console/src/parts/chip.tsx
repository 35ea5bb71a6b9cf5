import { Icon } from './icon';

/** A filter that is on, and the button that takes it off. */
export function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <span className="chip">
      <span className="cut" title={value}>
        {name} <b className="mono">{value}</b>
      </span>
      <button
        type="button"
        className="icon-btn"
        aria-label={`Remove the filter ${name} ${value}`}
        onClick={onRemove}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}
