/** Short messages at the edge of the page, also read out. They go by themselves, errors stay until closed. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { browserClock } from '../kernel/clock.ts'
import { icons } from '../parts/icons.tsx'

interface Toast {
  readonly id: number
  readonly kind: 'good' | 'bad'
  readonly text: string
}

const toasts = signal<readonly Toast[]>([])
let nextId = 1

const shownFor = 5_000
const mostToasts = 4

export function toast(kind: Toast['kind'], text: string): void {
  const id = nextId++
  toasts.value = [...toasts.value.slice(1 - mostToasts), { id, kind, text }]
  if (kind === 'good') browserClock.setTimer(shownFor, () => close(id))
}

function close(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id)
}

export function Toasts(): JSX.Element {
  return (
    <div class="toast-area" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <span class="grow">{text}</span>
          <button
            class="button plain small"
            type="button"
            onClick={() => close(id)}
            aria-label="Close this message"
          >
            {icons.close}
          </button>
        </div>
      ))}
    </div>
  )
}
