/** A form for the input of a job, and the result of the job: a value, a text, a picture or a file. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { hrefOf } from '../../api/client.ts'
import { describeError } from '../../api/errors.ts'
import { referenceOf } from '../../api/failures.ts'
import { submitJob, waitForResult, type JobAnswer, type ServedJob } from '../../api/jobs.ts'
import { browserClock } from '../../kernel/clock.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { formatBytes, formatDuration, shortId } from '../../parts/format.ts'
import { Failure } from './failure.tsx'
import { fieldsOf, valueOf, type Field } from './schema-form.ts'

/** Milliseconds that one request waits for the result; then the next one does. */
const waitLimit = 30_000

type Shown =
  | {
      readonly kind: 'error'
      readonly text: string
      readonly reference: string | undefined
      readonly took: number
    }
  | { readonly kind: 'answer'; readonly answer: JobAnswer; readonly took: number }

export function SubmitForm({ job }: { readonly job: ServedJob }): JSX.Element {
  const fields = fieldsOf(job.input)
  const values = useSignal<Readonly<Record<string, string>>>({})
  const shown = useSignal<Shown | undefined>(undefined)
  const isBusy = useSignal(false)
  const waiting = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => waiting.current?.abort(), [])
  const submit = async (): Promise<void> => {
    const abort = new AbortController()
    waiting.current = abort
    isBusy.value = true
    shown.value = undefined
    const started = browserClock.wallTime()
    const took = (): number => browserClock.wallTime() - started
    try {
      const input = valueOf(fields, values.value)
      let answer = await submitJob(job.name, input, waitLimit, abort.signal)
      while (answer.kind === 'pending') {
        shown.value = { kind: 'answer', answer, took: took() }
        answer = await waitForResult(answer, waitLimit, abort.signal)
      }
      shown.value = { kind: 'answer', answer, took: took() }
    } catch (error) {
      if (!abort.signal.aborted) {
        const reference = referenceOf(error)
        shown.value = { kind: 'error', text: describeError(error), reference, took: took() }
      }
    } finally {
      isBusy.value = false
    }
  }
  const now = shown.value
  const isPending = now?.kind === 'answer' && now.answer.kind === 'pending'
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <header>
        <h2>
          Submit <span class="mono">{job.name}</span>
        </h2>
      </header>
      <div class="body stack">
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values.value[field.name] ?? ''}
            onInput={(text) => (values.value = { ...values.value, [field.name]: text })}
          />
        ))}
        <div class="row">
          <button class="button primary" type="submit" disabled={isBusy.value}>
            {isBusy.value ? 'Waiting for the result…' : 'Submit'}
          </button>
          {isBusy.value && isPending && (
            <button class="button" type="button" onClick={() => waiting.current?.abort()}>
              Stop waiting
            </button>
          )}
          {now !== undefined && <span class="quiet num">{formatDuration(now.took)}</span>}
        </div>
        <div class="stack tight" role="status">
          {now?.kind === 'error' && <p class="note bad">{now.text}</p>}
          {now?.kind === 'error' && now.reference !== undefined && (
            <Failure key={now.reference} reference={now.reference} />
          )}
          {now?.kind === 'answer' && <AnswerView answer={now.answer} />}
        </div>
      </div>
    </form>
  )
}

function AnswerView({ answer }: { readonly answer: JobAnswer }): JSX.Element {
  const { handle, index } = answer
  const href = hrefOf(`/results/${encodeURIComponent(handle)}/${index}`)
  if (answer.kind === 'pending') {
    return (
      <p class="note">
        <span>
          The job has not ended yet. Its result will be at{' '}
          <a class="mono" href={href} target="_blank" rel="noreferrer">
            {shortId(handle)}
          </a>
          , also when you leave this page.
        </span>
      </p>
    )
  }
  const text =
    answer.kind === 'value'
      ? JSON.stringify(answer.value, undefined, 2)
      : typeof answer.body === 'string'
        ? answer.body
        : undefined
  return (
    <section class="stack tight">
      <div class="row">
        <h3 class="grow">Result</h3>
        <a
          class="quiet mono"
          href={href}
          target="_blank"
          rel="noreferrer"
          title="Open the stored result in another tab"
        >
          {shortId(handle)}
        </a>
        {text !== undefined && <CopyButton text={text} label="Copy the result" />}
      </div>
      {answer.kind === 'bytes' && answer.type.startsWith('image/') ? (
        <img class="result-image" src={href} alt={`Result of ${shortId(handle)}`} />
      ) : text !== undefined ? (
        <pre class="code wrap" tabIndex={0} aria-label="Result">
          {text}
        </pre>
      ) : (
        <p>
          <a href={href} download>
            {answer.kind === 'bytes' && answer.type}
          </a>
          , {answer.kind === 'bytes' && formatBytes(answer.body.length)}
        </p>
      )}
    </section>
  )
}

function FieldInput({
  field,
  value,
  onInput,
}: {
  readonly field: Field
  readonly value: string
  readonly onInput: (text: string) => void
}): JSX.Element {
  const { fallback } = field
  const shared = { class: 'input', required: field.isRequired, value, placeholder: fallback }
  return (
    <label class="field">
      <span>
        {field.title}
        {field.isRequired && ' *'}
      </span>
      {field.kind === 'json' ? (
        <textarea
          {...shared}
          class="input mono"
          rows={5}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : field.kind === 'choice' ? (
        <select
          class="input"
          required={field.isRequired}
          value={value}
          onChange={(event) => onInput(event.currentTarget.value)}
        >
          <option value="">{fallback}</option>
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      ) : field.kind === 'number' ? (
        <input
          {...shared}
          type="number"
          step="any"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <input {...shared} type="text" onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {field.description !== '' && <small class="quiet">{field.description}</small>}
    </label>
  )
}
