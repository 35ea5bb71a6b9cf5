import { productName, useSettings } from '../api/settings';

export function Brand() {
  const settings = useSettings();
  return (
    <div className="brand">
      {settings.logo ? (
        <img src={settings.logo} alt="" />
      ) : (
        <svg
          aria-hidden="true"
          width="22"
          height="16"
          viewBox="0 0 22 16"
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        >
          <circle cx="10.5" cy="9" r="5" />
          <path d="M1 3h9.5M15.5 7.5l5-5.5v9" />
        </svg>
      )}
      <span className="cut">{productName(settings)}</span>
    </div>
  );
}
