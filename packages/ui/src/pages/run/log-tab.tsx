/** The log of all nodes of a run. The search is in the address. */
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { noLines } from '../../model/log-lines.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { plural } from '../../parts/format.ts'
import { textOfLines } from '../../parts/log-view.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { RunLog, useLog } from './log.tsx'
import type { RunView } from './run-view.ts'

const shownLines = 2_000

export function LogTab({ view }: { readonly view: RunView }): JSX.Element {
  const q = address.value.query['log'] ?? ''
  const { found, error, reload } = useLog(view, { q })
  const { lines, dropped } = found ?? noLines
  return (
    <div class="log-tab">
      <div class="row tools">
        <SearchField
          label="Search the log"
          placeholder="Search the log"
          value={q}
          onChange={(text) => setQuery({ log: text })}
        />
        <span class="grow" />
        {found !== undefined && (
          <span class="quiet num">{plural(lines.length + dropped, 'line')}</span>
        )}
        <CopyButton text={() => textOfLines(lines, true)} label="Copy the lines" />
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {found === undefined ? (
        error === undefined && <Loading />
      ) : lines.length === 0 ? (
        <Empty title={q === '' ? 'Nothing has been logged' : `No line contains “${q}”`}>
          {q === '' && <p>What a job writes with ctx.log(text) appears here.</p>}
        </Empty>
      ) : (
        <RunLog
          view={view}
          log={found}
          most={shownLines}
          label="Log of the run"
          onNode={(name) => view.select(name)}
        />
      )}
    </div>
  )
}
