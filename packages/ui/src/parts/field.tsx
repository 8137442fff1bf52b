/**
 * Fields of forms. They keep the typed text in an object of the caller, so that a dialog can read it when it is sent.
 */
import type { JSX, TargetedInputEvent } from 'preact'

interface TextFieldProps<T> {
  readonly title: string
  readonly into: T
  readonly name: keyof T & string
  /** `json`: several lines of it. */
  readonly type?: 'text' | 'password' | 'json'
  readonly hint?: string
  readonly isRequired?: boolean
  readonly autocomplete?: string
  readonly minLength?: number
}

export function TextField<T extends Record<string, string>>({
  title,
  into,
  name,
  type = 'text',
  hint,
  isRequired = false,
  autocomplete = 'off',
  minLength,
}: TextFieldProps<T>): JSX.Element {
  const shared = {
    class: 'input',
    name,
    required: isRequired,
    autocomplete,
    spellcheck: false,
    maxLength: 1_000,
    ...(minLength !== undefined && { minLength }),
    defaultValue: into[name],
    onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      ;(into as Record<string, string>)[name] = event.currentTarget.value
    },
  }
  return (
    <label class="field">
      <span>
        {title}
        {isRequired && ' *'}
      </span>
      {type === 'json' ? (
        <textarea {...shared} class="input mono" rows={3} maxLength={100_000} />
      ) : type === 'password' ? (
        <input {...shared} type="password" />
      ) : (
        <input {...shared} type="text" />
      )}
      {hint !== undefined && <small class="quiet">{hint}</small>}
    </label>
  )
}

interface ChoiceFieldProps<T> {
  readonly title: string
  readonly into: T
  readonly name: keyof T & string
  readonly choices: readonly (readonly [value: string, title: string])[]
  readonly hint?: string
}

export function ChoiceField<T extends Record<string, string>>({
  title,
  into,
  name,
  choices,
  hint,
}: ChoiceFieldProps<T>): JSX.Element {
  return (
    <label class="field">
      <span>{title}</span>
      <select
        class="input"
        name={name}
        onChange={(event) => ((into as Record<string, string>)[name] = event.currentTarget.value)}
      >
        {choices.map(([value, words]) => (
          <option key={value} value={value} selected={value === into[name]}>
            {words}
          </option>
        ))}
      </select>
      {hint !== undefined && <small class="quiet">{hint}</small>}
    </label>
  )
}

interface ChecksProps<T> {
  readonly title: string
  readonly into: Set<T>
  readonly choices: readonly (readonly [value: T, title: string])[]
}

export function ChecksField<T extends string>({
  title,
  into,
  choices,
}: ChecksProps<T>): JSX.Element {
  return (
    <fieldset class="field checks">
      <legend>{title}</legend>
      {choices.map(([value, words]) => (
        <label key={value} class="row">
          <input
            type="checkbox"
            defaultChecked={into.has(value)}
            onChange={(event) =>
              event.currentTarget.checked ? into.add(value) : into.delete(value)
            }
          />
          {words}
        </label>
      ))}
    </fieldset>
  )
}
