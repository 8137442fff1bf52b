/** Stands before every view of a server that has users, until a user has logged in. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { go } from '../../app/address.ts'
import { link } from '../../app/route.ts'
import { enterByLink, logIn } from '../../api/client.ts'
import { describeError } from '../../api/errors.ts'
import { TextField } from '../../parts/field.tsx'
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

/** Shortest password that the form sends; the server has the last word. */
const shortest = 8

/** What a link that works once leads to: the first admin's, or a new user's. */
export function LinkPage({ secret }: { readonly secret: string }): JSX.Element {
  const [typed] = useState(() => ({ password: '', again: '' }))
  return (
    <EntryForm
      title="Set your password"
      note="This link works once. You are logged in when the password is set."
      verb="Set the password"
      send={async () => {
        if (typed.password !== typed.again) throw new Error('The two passwords differ.')
        await enterByLink(secret, typed.password)
        go(link(['runs']), { replace: true })
      }}
    >
      <TextField
        title="Password"
        into={typed}
        name="password"
        type="password"
        isRequired
        minLength={shortest}
        autocomplete="new-password"
        hint={`At least ${shortest} characters.`}
      />
      <TextField
        title="The same once more"
        into={typed}
        name="again"
        type="password"
        isRequired
        autocomplete="new-password"
      />
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
    document.title = `${title} · Heddle`
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
