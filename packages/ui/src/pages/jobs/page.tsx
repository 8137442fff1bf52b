/** The jobs that are served, and a form to submit one. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { call } from '../../api/client.ts'
import { describeError } from '../../api/errors.ts'
import { formatDuration } from '../../parts/format.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { TableWrap } from '../../parts/table-wrap.tsx'
import { browserClock } from '../../kernel/clock.ts'
import { fieldsOf, valueOf, type Field, type JsonSchema } from './schema-form.ts'

interface ServedJob {
  readonly name: string
  readonly stages: readonly { readonly job: string; readonly place: string }[]
  readonly when_abandoned: string
  /** JSON Schema of its input, where the job names one. */
  readonly input?: JsonSchema
}

/** Milliseconds that a submit from here waits for its result. */
const waitLimit = 30_000

export function JobsPage(): JSX.Element {
  const { value, error, reload } = useResource((signal) => call('GET /jobs', { signal }), [])
  const chosen = value?.jobs.find((job) => job.name === address.value.query['job'])
  return (
    <main class="page" id="content" tabIndex={-1}>
      <div class="page-head">
        <div>
          <h1>Jobs</h1>
          <p>What this server computes for its callers.</p>
        </div>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.jobs.length === 0 ? (
        <Empty title="No jobs are served">
          <p>heddle serve --jobs FILE serves the jobs that a module exports.</p>
        </Empty>
      ) : (
        <div class="columns top">
          <TableWrap isCard>
            <table>
              <thead>
                <tr>
                  <th>Job</th>
                  <th>Stages</th>
                  <th>Without a caller</th>
                </tr>
              </thead>
              <tbody>
                {value.jobs.map((job) => (
                  <tr
                    key={job.name}
                    class="link"
                    aria-selected={job === chosen}
                    onClick={() => setQuery({ job: job.name })}
                  >
                    <td>
                      <button
                        class="node-name mono"
                        type="button"
                        onClick={() => setQuery({ job: job.name })}
                      >
                        {job.name}
                      </button>
                    </td>
                    <td class="soft">
                      {job.stages.map((stage) => `${stage.job} (${stage.place})`).join(' → ')}
                    </td>
                    <td class="soft">
                      {job.when_abandoned === 'keep' ? 'finishes' : 'is cancelled'}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableWrap>
          {chosen === undefined ? (
            <p class="quiet">Select a job to submit it.</p>
          ) : (
            <SubmitForm key={chosen.name} job={chosen} />
          )}
        </div>
      )}
    </main>
  )
}

interface Answer {
  readonly text: string
  readonly isError: boolean
  readonly took: number
}

function SubmitForm({ job }: { readonly job: ServedJob }): JSX.Element {
  const fields = fieldsOf(job.input)
  const values = useSignal<Readonly<Record<string, string>>>({})
  const answer = useSignal<Answer | undefined>(undefined)
  const isBusy = useSignal(false)
  const submit = async (): Promise<void> => {
    isBusy.value = true
    const started = browserClock.wallTime()
    const took = (): number => browserClock.wallTime() - started
    try {
      const body = valueOf(fields, values.value)
      const result = await call('POST /jobs/:name', {
        params: { name: job.name },
        query: { wait: waitLimit },
        body,
      })
      answer.value = { text: JSON.stringify(result, undefined, 2), isError: false, took: took() }
    } catch (error) {
      answer.value = { text: describeError(error), isError: true, took: took() }
    }
    isBusy.value = false
  }
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
          {answer.value !== undefined && (
            <span class="quiet num">{formatDuration(answer.value.took)}</span>
          )}
        </div>
        <div role="status">
          {answer.value !== undefined &&
            (answer.value.isError ? (
              <p class="note bad">{answer.value.text}</p>
            ) : (
              <pre class="code wrap" tabIndex={0} aria-label="Result">
                {answer.value.text}
              </pre>
            ))}
        </div>
      </div>
    </form>
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
