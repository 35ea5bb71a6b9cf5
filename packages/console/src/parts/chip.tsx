import { Icon } from './icon';

/** An active filter, with a button that removes it. */
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
