/**
 * A field that searches as one types. It keeps what is typed until it is handed over: however often the page is drawn
 * meanwhile, no letter is lost.
 */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { browserClock } from '../kernel/clock.ts'
import { icons } from './icons.tsx'

/** Milliseconds after the last letter before anything is asked for. */
const typingPause = 150

interface SearchFieldProps {
  /** For screen readers. */
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onChange: (text: string) => void
  readonly id?: string
}

export function SearchField({
  label,
  placeholder,
  value,
  onChange,
  id,
}: SearchFieldProps): JSX.Element {
  /** Typed, and not handed over yet. */
  const typed = useSignal<string | undefined>(undefined)
  const cancel = useRef<() => void>(() => {})
  const current = useRef(onChange)
  current.current = onChange
  // A view that is left takes nothing over: its words would go into the address of the next one.
  useEffect(() => () => cancel.current(), [])
  const handOver = (): void => {
    cancel.current()
    const text = typed.peek()
    typed.value = undefined
    if (text !== undefined) current.current(text)
  }
  return (
    <label class="search">
      {icons.search}
      <span class="sr">{label}</span>
      <input
        id={id}
        class="input"
        type="search"
        placeholder={placeholder}
        value={typed.value ?? value}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          cancel.current()
          cancel.current = browserClock.setTimer(typingPause, handOver)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') handOver()
        }}
      />
    </label>
  )
}
