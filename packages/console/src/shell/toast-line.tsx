import { useStore } from '../store';
import { toast } from '../toast';

export function ToastLine() {
  const text = useStore(toast);
  return (
    <div role="status" aria-live="polite">
      {text && <div className="toast">{text}</div>}
    </div>
  );
}
