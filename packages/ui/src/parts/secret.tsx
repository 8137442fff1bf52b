/** A secret that is shown once: a new token, a link that sets a password. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'

interface Secret {
  readonly title: string
  readonly text: string
  /** Its purpose, and how long it is valid. */
  readonly note: string
}

const shown = signal<Secret | undefined>(undefined)

export function showSecret(secret: Secret): void {
  shown.value = secret
}

export function SecretDialog(): JSX.Element | null {
  const secret = shown.value
  if (secret === undefined) return null
  const close = (): void => {
    shown.value = undefined
  }
  return (
    <Dialog label={secret.title} onClose={close}>
      <div class="dialog">
        <h2>{secret.title}</h2>
        <p class="soft">{secret.note}</p>
        <div class="row secret">
          <code class="code wrap grow">{secret.text}</code>
          <CopyButton text={secret.text} label="Copy" />
        </div>
        <footer>
          <button class="button primary" type="button" onClick={close} autofocus>
            Done
          </button>
        </footer>
      </div>
    </Dialog>
  )
}
