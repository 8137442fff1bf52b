/** Copies a text. Pages without a secure origin have no clipboard: there the text is selected in a field and copied from it. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { browserClock } from '../kernel/clock.ts'
import { announce } from './announce.tsx'
import { icons } from './icons.tsx'

async function copyText(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text, button)
  }
}

/** The old way, which plain HTTP allows. */
function copyBySelection(text: string, button: HTMLElement): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'sr'
  // Behind an open dialog nothing can be selected.
  const place = button.closest('dialog') ?? document.body
  place.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  button.focus()
  return isCopied
}

const shownFor = 1_500

const words = { done: 'Copied', failed: 'Not copied: select it' } as const

export function CopyButton({
  text,
  label,
}: {
  /** A function where the text is long: it is made when the button is pressed. */
  readonly text: string | (() => string)
  readonly label: string
}): JSX.Element {
  const [outcome, setOutcome] = useState<keyof typeof words | undefined>(undefined)
  const copy = async (button: HTMLElement): Promise<void> => {
    const isCopied = await copyText(typeof text === 'string' ? text : text(), button)
    const now = isCopied ? 'done' : 'failed'
    setOutcome(now)
    announce(words[now])
    browserClock.setTimer(shownFor, () => setOutcome(undefined))
  }
  return (
    <button
      class="button plain small"
      type="button"
      aria-label={label}
      title={label}
      onClick={(event) => void copy(event.currentTarget)}
    >
      {outcome === undefined ? icons.copy : words[outcome]}
    </button>
  )
}
