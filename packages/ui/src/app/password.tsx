/** The dialog in which a user changes the own password. */
import { changePassword } from '../api/client.ts'
import { ask } from '../parts/confirm.tsx'
import { TextField } from '../parts/field.tsx'
import { NewPasswordFields, repeatedPassword } from '../parts/password-fields.tsx'

export function askForPassword(): void {
  const typed = { old: '', password: '', again: '' }
  ask({
    title: 'Change your password?',
    consequence: 'You stay logged in here. All your other sessions end.',
    verb: 'Change the password',
    fields: (
      <>
        <TextField
          title="Current password"
          into={typed}
          name="old"
          type="password"
          isRequired
          autocomplete="current-password"
        />
        <NewPasswordFields title="New password" into={typed} />
      </>
    ),
    run: async () => {
      await changePassword(typed.old, repeatedPassword(typed))
      return 'Your password is changed.'
    },
  })
}
