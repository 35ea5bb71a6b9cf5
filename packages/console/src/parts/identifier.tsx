import { copyText } from '../clipboard';
import { shortId } from '../identifier';

/** An identifier, shortened in the middle. A click copies all of it. */
export function Identifier({ id }: { id: string }) {
  return (
    <button
      type="button"
      className="pick mono soft above"
      title={`${id} (click to copy)`}
      onClick={() => copyText(id, id)}
    >
      {shortId(id)}
    </button>
  );
}
