import { useNavigate } from '@tanstack/react-router';
import { Segmented } from '../parts/segmented';

/** The choice between a body laid out for people and its exact bytes. It is kept in the URL as `text`. */
export function PrettySwitch({ label, isRaw }: { label: string; isRaw: boolean }) {
  const navigate = useNavigate();
  return (
    <Segmented
      label={label}
      choices={[
        { key: 'pretty', label: 'Pretty' },
        { key: 'raw', label: 'Raw' },
      ]}
      value={isRaw ? 'raw' : 'pretty'}
      onChange={(text) =>
        void navigate({
          to: '.',
          search: (now) => ({ ...now, text: text === 'raw' ? 'raw' : undefined }) as never,
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
