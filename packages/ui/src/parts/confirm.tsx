/** Asks before an irreversible action, and names its effects. */
import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { go } from '../app/address.ts'
import { toast } from '../app/toasts.tsx'
import { describeError } from '../api/errors.ts'
import { Dialog } from './dialog.tsx'

export interface Question {
  readonly title: string
  /** What happens, in a sentence with numbers and names. */
  readonly consequence: string
  /** The word on the button: the verb of the title. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Fields, shown below the consequence. */
  readonly fields?: ComponentChildren
  /** Resolves with what to say when it is done. */
  readonly run: () => Promise<string | Done>
}

export interface Done {
  readonly text: string
  /** Where to go, unless the dialog was closed in between: a user who has moved on stays there. */
  readonly to: string
}

const question = signal<Question | undefined>(undefined)

export function ask(asked: Question): void {
  question.value = asked
}

export function Confirmation(): JSX.Element | null {
  const asked = question.value
  return asked === undefined ? null : <Ask key={asked.title} asked={asked} />
}

function Ask({ asked }: { readonly asked: Question }): JSX.Element {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const close = (): void => {
    question.value = undefined
  }
  // It may be closed while it works, and another question asked.
  const isOpen = (): boolean => question.peek() === asked
  const confirm = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const done = await asked.run()
      const { text, to } = typeof done === 'string' ? { text: done, to: undefined } : done
      if (isOpen()) {
        close()
        if (to !== undefined) go(to)
      }
      toast('good', text)
    } catch (error) {
      if (!isOpen()) return toast('bad', describeError(error))
      setProblem(describeError(error))
      setBusy(false)
    }
  }
  return (
    <Dialog label={asked.title} onClose={close}>
      <form
        class="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          void confirm()
        }}
      >
        <h2>{asked.title}</h2>
        <p class="soft">{asked.consequence}</p>
        {asked.fields}
        {problem !== undefined && (
          <p class="note bad" role="alert">
            {problem}
          </p>
        )}
        <footer>
          <button class="button" type="button" onClick={close}>
            {asked.fields === undefined ? 'Keep as it is' : 'Close'}
          </button>
          <button
            class={`button primary ${asked.isDangerous ? 'danger' : ''}`}
            type="submit"
            disabled={isBusy}
            // A form begins with its first field, which the dialog focuses by itself.
            autofocus={asked.fields === undefined}
          >
            {isBusy ? 'Working…' : asked.verb}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
