/** What runs on the loop and what elsewhere, file by file: the matrix that `heddle analyze --inventory` makes. */
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { readInventory, type InventoryView } from '../../api/machine.ts'
import { formatDateTime, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { TableCard } from '../../parts/table.tsx'
import { readMatrix, type HotSpot, type MatrixRow, type TaggedName } from './inventory.ts'

export function BoundariesPage(): JSX.Element {
  const { value, error, reload } = useResource(readInventory, [])
  return (
    <main class="page" id="content" tabIndex={0}>
      <div class="page-head">
        <div>
          <h1>Boundaries</h1>
          <p>What runs on the event loop, what is moved away from it, and what still holds it.</p>
        </div>
        <button class="button" type="button" onClick={reload}>
          {icons.retry} Read again
        </button>
      </div>
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? error === undefined && <Loading /> : <Content view={value} />}
    </main>
  )
}

const howTo = `npx heddle analyze --inventory --json src/ > inventory.json
npx heddle serve --inventory inventory.json`

function Content({ view }: { readonly view: InventoryView }): JSX.Element {
  if (view.file === null || view.problem !== null) {
    return (
      <Empty
        title={
          view.file === null
            ? 'No inventory is named'
            : `${view.file} cannot be shown: ${view.problem}`
        }
      >
        <p>Make the file from your code, and name it when the server is started:</p>
        <pre class="code wrap" tabIndex={0} aria-label="Commands">
          {howTo}
        </pre>
        <p class="quiet">
          Or name it as <code>inventory</code> in <code>heddle.server.json</code>, or in the options
          of <code>startServer()</code>.
        </p>
      </Empty>
    )
  }
  const { matrix, hotSpots } = readMatrix(view.inventory)
  const wanted = (address.value.query['q'] ?? '').toLowerCase()
  const shown = matrix.filter(({ component }) => component.toLowerCase().includes(wanted))
  return (
    <div class="stack">
      {hotSpots.length > 0 && <HotSpots spots={hotSpots} />}
      <TableCard
        title={`${view.file}, ${plural(matrix.length, 'component')}`}
        side={
          <>
            {view.written_at !== null && (
              <span class="quiet hide-small">written {formatDateTime(view.written_at)}</span>
            )}
            <SearchField
              label="Search components"
              placeholder="File or folder"
              value={address.value.query['q'] ?? ''}
              onChange={(text) => setQuery({ q: text })}
            />
          </>
        }
      >
        <table class="matrix">
          <thead>
            <tr>
              <th>Component</th>
              <th>Starts on the loop</th>
              <th>Moved away</th>
              <th>Holds the loop</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <Row key={row.component} row={row} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="empty">No component fits the search.</p>}
      </TableCard>
    </div>
  )
}

function Row({ row }: { readonly row: MatrixRow }): JSX.Element {
  return (
    <tr>
      <td class="mono">{row.component}</td>
      <td class="soft">{row.loop.length === 0 ? '–' : row.loop.join(', ')}</td>
      <td>
        <Names names={row.elsewhere} />
      </td>
      <td class={row.remaining.length > 0 ? 'holds' : ''}>
        <Names names={row.remaining} />
      </td>
    </tr>
  )
}

function Names({ names }: { readonly names: readonly TaggedName[] }): JSX.Element {
  if (names.length === 0) return <span class="quiet">–</span>
  return (
    <div class="row names">
      {names.map(({ tag, name, count }) => (
        <span key={`${tag} ${name}`} class="chip">
          <span class="mono">{name}</span>
          {count > 1 && <span class="quiet">× {count}</span>} <span class="quiet">{tag}</span>
        </span>
      ))}
    </div>
  )
}

function HotSpots({ spots }: { readonly spots: readonly HotSpot[] }): JSX.Element {
  return (
    <TableCard title={plural(spots.length, 'call that holds the loop', 'calls that hold the loop')}>
      <table>
        <thead>
          <tr>
            <th>Call</th>
            <th>Where</th>
            <th>Reached from</th>
            <th>Instead</th>
          </tr>
        </thead>
        <tbody>
          {spots.slice(0, 100).map((spot) => (
            <tr key={`${spot.file}:${spot.line} ${spot.name}`}>
              <td class="mono">{spot.name}</td>
              <td class="mono soft">
                {spot.file}:{spot.line}
              </td>
              <td class="soft">{spot.way.join(' → ')}</td>
              <td class="soft">{spot.instead ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}
