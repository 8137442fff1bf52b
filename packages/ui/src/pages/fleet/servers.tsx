/** Servers on one store, with the shards that each of them owns. */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { has } from '../../api/features.ts'
import { readServers, type ServersView } from '../../api/machine.ts'
import { browserClock } from '../../kernel/clock.ts'
import { formatAge, formatCount, plural } from '../../parts/format.ts'
import { Failed } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { TableCard } from '../../parts/table.tsx'

/** Milliseconds. */
const interval = 5_000

export function Servers(): JSX.Element | null {
  const isKnown = has('GET /servers')
  const { value, error, reload } = useResource(
    async (signal) => (isKnown ? readServers(signal) : undefined),
    [isKnown],
  )
  useEffect(() => {
    let cancel: () => void = () => {}
    const tick = (): void => {
      cancel = browserClock.setTimer(interval, () => {
        if (!document.hidden) reload()
        tick()
      })
    }
    tick()
    return () => cancel()
  }, [])
  if (error !== undefined) return <Failed error={error} onRetry={reload} />
  if (value === undefined) return null
  const hasPlaces = value.servers.some((server) => server.address !== null)
  const orphans = value.owners.filter((owner) => owner < 0).length
  return (
    <TableCard
      title="Servers"
      side={
        <span class="quiet">
          {plural(value.servers.length, 'server')}, {value.owners.length} shards
          {orphans > 0 && `, ${orphans} without an owner`}
        </span>
      }
    >
      <table>
        <thead>
          <tr>
            <th>Server</th>
            {hasPlaces && <th>Address</th>}
            {hasPlaces && <th>Started</th>}
            <th class="right">Shards</th>
            <th class="wide">Shards it owns</th>
          </tr>
        </thead>
        <tbody>
          {value.servers.map((server, index) => (
            <tr key={server.server}>
              <td class="mono nowrap">
                {server.server === 'this' ? 'this server' : server.server}{' '}
                {server.is_this && value.servers.length > 1 && <span class="quiet">this one</span>}
              </td>
              {hasPlaces && (
                <>
                  <td class="soft mono">{server.address ?? '–'}</td>
                  <td class="soft nowrap">
                    {server.started_at === null
                      ? '–'
                      : formatAge(server.started_at, browserClock.wallTime())}
                  </td>
                </>
              )}
              <td class="right">{formatCount(server.shards)}</td>
              <td class="wide">
                <Shards view={value} index={index} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableCard>
  )
}

/** A cell for each shard, filled where this server owns it. */
function Shards({
  view,
  index,
}: {
  readonly view: ServersView
  readonly index: number
}): JSX.Element {
  const { owners } = view
  return (
    <svg
      class="shards"
      viewBox={`0 0 ${owners.length} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${owners.filter((owner) => owner === index).length} of ${owners.length} shards`}
    >
      <path d={cells(owners, index)} />
    </svg>
  )
}

/** Neighbours are one rectangle. */
function cells(owners: readonly number[], index: number): string {
  let path = ''
  for (let from = 0; from < owners.length; from++) {
    if (owners[from] !== index) continue
    let to = from
    while (owners[to] === index) to++
    path += `M${from} 0h${to - from}v10h${from - to}z`
    from = to
  }
  return path
}
