/** What screen readers announce: which view is shown, how the run stands, that a text was copied. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'

const said = signal('')

export function announce(text: string): void {
  said.value = text
}

/** Names the view in the tab of the browser, and announces it. */
export function nameView(title: string): void {
  document.title = `${title} · Heddle`
  announce(title)
}

export function Announcer(): JSX.Element {
  return (
    <p class="sr" role="status">
      {said.value}
    </p>
  )
}
