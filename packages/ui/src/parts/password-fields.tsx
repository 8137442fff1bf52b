/** Two fields for a new password. */
import type { JSX } from 'preact'
import { shortestPassword } from '../api/session.ts'
import { TextField } from './field.tsx'

export interface TypedPassword extends Record<string, string> {
  password: string
  again: string
}

export function NewPasswordFields({
  title,
  into,
}: {
  readonly title: string
  readonly into: TypedPassword
}): JSX.Element {
  const shared = { into, type: 'password', isRequired: true, autocomplete: 'new-password' } as const
  return (
    <>
      <TextField
        {...shared}
        title={title}
        name="password"
        minLength={shortestPassword}
        hint={`At least ${shortestPassword} characters.`}
      />
      <TextField {...shared} title="Repeat the password" name="again" />
    </>
  )
}

/** The password that was typed twice. */
export function repeatedPassword({ password, again }: TypedPassword): string {
  if (password !== again) throw new Error('The two passwords differ.')
  return password
}
