import { Link } from '@tanstack/react-router';
import { formatCount } from '../../format';
import type { RangeSearch } from '../../range';

const shownMax = 8;

export function EventsByType({
  types,
  search,
}: {
  types: { type: string; count: number }[];
  search: RangeSearch;
}) {
  const most = Math.max(1, ...types.map(({ count }) => count));
  return (
    <section>
      <h2>Events by type</h2>
      {types.length === 0 ? (
        <p className="soft">No events in this range. New ones are counted within a minute.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Type</th>
              <th className="wide share-col">
                <span className="hidden-visually">Share</span>
              </th>
              <th className="r count-col">Events</th>
            </tr>
          </thead>
          <tbody>
            {types.slice(0, shownMax).map(({ type, count }) => (
              <tr key={type}>
                <td>
                  <Link className="row-link mono" to="/events" search={{ type, ...search }}>
                    {type}
                  </Link>
                </td>
                <td className="wide">
                  <span className="meter" style={{ width: `${(count / most) * 100}%` }} />
                </td>
                <td className="r">{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
