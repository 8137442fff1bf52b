/** The jobs that are served, and a form to submit one. */
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { mayLookUp } from '../../api/failures.ts'
import { listJobs } from '../../api/jobs.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { TableWrap } from '../../parts/table.tsx'
import { LookUp } from './look-up.tsx'
import { SubmitForm } from './submit-form.tsx'

export function JobsPage(): JSX.Element {
  const { value, error, reload } = useResource(listJobs, [])
  const chosen = value?.find((job) => job.name === address.value.query['job'])
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Jobs</h1>
          <p>What this server computes for its callers.</p>
        </div>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.length === 0 ? (
        <Empty title="No jobs are served">
          <p>heddle serve --jobs FILE serves the jobs that a module exports.</p>
        </Empty>
      ) : (
        <div class="columns from-top">
          <TableWrap isCard>
            <table>
              <thead>
                <tr>
                  <th>Job</th>
                  <th>Stages</th>
                  <th>When all callers leave</th>
                </tr>
              </thead>
              <tbody>
                {value.map((job) => (
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
          <div class="stack">
            {chosen === undefined ? (
              <p class="quiet">Select a job to submit it.</p>
            ) : (
              <SubmitForm key={chosen.name} job={chosen} />
            )}
            {mayLookUp() && <LookUp />}
          </div>
        </div>
      )}
    </main>
  )
}
