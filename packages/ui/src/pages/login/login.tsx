/** Stands before every view of a server that has users, until a user has logged in. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { go } from '../../app/address.ts'
import { link } from '../../app/route.ts'
import { enterByLink, logIn } from '../../api/client.ts'
import { describeError } from '../../api/errors.ts'
import { Announcer, nameView } from '../../parts/announce.tsx'
import { TextField } from '../../parts/field.tsx'
import { NewPasswordFields, repeatedPassword } from '../../parts/password-fields.tsx'
import mark from '../../styles/mark.svg'

export function LoginPage(): JSX.Element {
  const [typed] = useState(() => ({ name: '', password: '' }))
  const [remember, setRemember] = useState(false)
  return (
    <EntryForm
      title="Log in"
      verb="Log in"
      send={() => logIn(typed.name.trim(), typed.password, remember)}
    >
      <TextField title="Name" into={typed} name="name" isRequired autocomplete="username" />
      <TextField
        title="Password"
        into={typed}
        name="password"
        type="password"
        isRequired
        autocomplete="current-password"
      />
      <label class="row">
        <input
          type="checkbox"
          checked={remember}
          onChange={(event) => setRemember(event.currentTarget.checked)}
        />
        Stay logged in on this device
      </label>
    </EntryForm>
  )
}

/** What a link that works once leads to: the first admin's, or a new user's. */
export function LinkPage({ secret }: { readonly secret: string }): JSX.Element {
  const [typed] = useState(() => ({ password: '', again: '' }))
  return (
    <EntryForm
      title="Set your password"
      note="This link works once. You are logged in when the password is set."
      verb="Set the password"
      send={async () => {
        await enterByLink(secret, repeatedPassword(typed))
        go(link(['runs']), { replace: true })
      }}
    >
      <NewPasswordFields title="Password" into={typed} />
    </EntryForm>
  )
}

interface EntryProps {
  readonly title: string
  readonly note?: string
  readonly verb: string
  readonly send: () => Promise<void>
  readonly children: ComponentChildren
}

function EntryForm({ title, note, verb, send, children }: EntryProps): JSX.Element {
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  // Before the form is drawn: text typed as soon as it appears belongs to its first field.
  useLayoutEffect(() => {
    nameView(title)
    document.querySelector<HTMLInputElement>('.entry input')?.focus()
  }, [title])
  const submit = async (): Promise<void> => {
    isBusy.value = true
    problem.value = undefined
    try {
      await send()
    } catch (error) {
      problem.value = describeError(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <main class="entry" id="content">
      <Announcer />
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <div class="brand">
          <img src={mark} alt="" />
          Heddle
        </div>
        <h1>{title}</h1>
        {note !== undefined && <p class="soft">{note}</p>}
        {children}
        {problem.value !== undefined && (
          <p class="note bad" role="alert">
            {problem.value}
          </p>
        )}
        <button class="button primary" type="submit" disabled={isBusy.value}>
          {isBusy.value ? 'Working…' : verb}
        </button>
      </form>
    </main>
  )
}
