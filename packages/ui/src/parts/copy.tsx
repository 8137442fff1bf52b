/** Copies a text. On pages without a secure origin there is no clipboard: then the text is selected in a field. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { browserClock } from '../kernel/clock.ts'
import { icons } from './icons.tsx'

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** The old way, which plain HTTP allows. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'sr'
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied
}

const shownFor = 1_500

export function CopyButton({
  text,
  label,
}: {
  readonly text: string
  readonly label: string
}): JSX.Element {
  const [isDone, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    if (!(await copyText(text))) return
    setDone(true)
    browserClock.setTimer(shownFor, () => setDone(false))
  }
  return (
    <button
      class="button plain small"
      type="button"
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      {isDone ? 'Copied' : icons.copy}
    </button>
  )
}
