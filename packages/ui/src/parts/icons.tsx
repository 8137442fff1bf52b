/** Icons, drawn on a 16 × 16 grid with one stroke. They are decoration: the text beside them says the same. */
import type { ComponentChildren, JSX } from 'preact'

function Icon({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <svg
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

export const icons = {
  runs: (
    <Icon>
      <path d="M2.5 4h6M2.5 8h11M5.5 12h8" />
    </Icon>
  ),
  jobs: (
    <Icon>
      <rect x="2.5" y="4.5" width="11" height="8" rx="1.5" />
      <path d="M6 4.5V3h4v1.5M2.5 8h11" />
    </Icon>
  ),
  load: (
    <Icon>
      <path d="M2.5 11a5.5 5.5 0 1 1 11 0M8 11l2.6-3.6" />
    </Icon>
  ),
  loop: (
    <Icon>
      <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.4h-2.4" />
    </Icon>
  ),
  fleet: (
    <Icon>
      <rect x="2.5" y="3" width="11" height="4" rx="1" />
      <rect x="2.5" y="9" width="11" height="4" rx="1" />
      <path d="M5 5h.01M5 11h.01" />
    </Icon>
  ),
  campaign: (
    <Icon>
      <path d="M2.5 12.5 6 8l2.5 2.5 5-6.5M10 4h3.5v3.5" />
    </Icon>
  ),
  schedule: (
    <Icon>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3l2 1.5" />
    </Icon>
  ),
  people: (
    <Icon>
      <circle cx="6" cy="5.5" r="2.3" />
      <path d="M2 13c0-2.3 1.8-4 4-4s4 1.7 4 4M11 7.6a2 2 0 1 0-1-3.7M11.5 9.3c1.5.4 2.5 1.8 2.5 3.7" />
    </Icon>
  ),
  audit: (
    <Icon>
      <path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4M6 11h4" />
    </Icon>
  ),
  boundaries: (
    <Icon>
      <rect x="2.5" y="2.5" width="11" height="11" rx="1.5" />
      <path d="M2.5 6.2h11M6.2 2.5v11" />
    </Icon>
  ),
  keys: (
    <Icon>
      <rect x="1.5" y="4" width="13" height="8" rx="1.5" />
      <path d="M4 6.8h.01M6.6 6.8h.01M9.3 6.8h.01M12 6.8h.01M5 9.5h6" />
    </Icon>
  ),
  search: (
    <Icon>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </Icon>
  ),
  menu: (
    <Icon>
      <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />
    </Icon>
  ),
  pause: (
    <Icon>
      <path d="M5.5 3.5v9M10.5 3.5v9" />
    </Icon>
  ),
  play: (
    <Icon>
      <path d="m5 3.5 7 4.5-7 4.5z" />
    </Icon>
  ),
  stop: (
    <Icon>
      <rect x="4" y="4" width="8" height="8" rx="1" />
    </Icon>
  ),
  retry: (
    <Icon>
      <path d="M3 8a5 5 0 1 0 1.6-3.7M3 2.5v2.4h2.4" />
    </Icon>
  ),
  close: (
    <Icon>
      <path d="m4 4 8 8M12 4l-8 8" />
    </Icon>
  ),
  copy: (
    <Icon>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.2" />
      <path d="M10.5 5.5v-3h-8v8h3" />
    </Icon>
  ),
  export: (
    <Icon>
      <path d="M8 2.5v7M5 7l3 3 3-3M3 13.5h10" />
    </Icon>
  ),
  sun: (
    <Icon>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1" />
    </Icon>
  ),
  moon: (
    <Icon>
      <path d="M13 9.3A5.5 5.5 0 0 1 6.7 3a5.5 5.5 0 1 0 6.3 6.3Z" />
    </Icon>
  ),
  system: (
    <Icon>
      <rect x="2" y="3" width="12" height="8" rx="1.2" />
      <path d="M6 13.5h4" />
    </Icon>
  ),
  fit: (
    <Icon>
      <path d="M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10" />
    </Icon>
  ),
  plus: (
    <Icon>
      <path d="M8 3v10M3 8h10" />
    </Icon>
  ),
  minus: (
    <Icon>
      <path d="M3 8h10" />
    </Icon>
  ),
  target: (
    <Icon>
      <circle cx="8" cy="8" r="4.5" />
      <path d="M8 1.5v4M8 10.5v4M1.5 8h4M10.5 8h4" />
    </Icon>
  ),
} as const
