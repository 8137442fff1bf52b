/** Files that a node or a campaign has left, to download. */
import type { JSX } from 'preact'
import { hrefOf } from '../api/client.ts'
import type { Artifact } from '../api/runs.ts'
import { CopyButton } from './copy.tsx'
import { formatBytes, plural } from './format.ts'
import { icons } from './icons.tsx'

const mostShown = 100

export function Artifacts({ list }: { readonly list: readonly Artifact[] }): JSX.Element | null {
  if (list.length === 0) return null
  const total = list.reduce((sum, { length }) => sum + length, 0)
  return (
    <section>
      <h3>
        {plural(list.length, 'artifact')}, {formatBytes(total)}
      </h3>
      <ArtifactList list={list} />
    </section>
  )
}

function ArtifactList({ list }: { readonly list: readonly Artifact[] }): JSX.Element {
  return (
    <>
      <ul class="artifacts">
        {list.slice(0, mostShown).map(({ run, name, length, sha256 }) => (
          <li key={name}>
            <a
              class="mono"
              href={hrefOf(`/artifacts/${encodeURIComponent(run)}/${encodeURIComponent(name)}`)}
              download={name.split('/').at(-1) ?? name}
            >
              {name}
            </a>
            <span class="grow" />
            <span class="num quiet nowrap">{formatBytes(length)}</span>
            <CopyButton text={sha256} label={`Copy the checksum of ${name}`} />
          </li>
        ))}
      </ul>
      {list.length > mostShown && (
        <p class="quiet">
          The first {mostShown}. <code>heddle runs artifacts</code> lists all.
        </p>
      )}
    </>
  )
}

/** The artifacts of a campaign, and all of them in one file. */
export function ArtifactsCard({
  run,
  list,
}: {
  readonly run: string
  readonly list: readonly Artifact[]
}): JSX.Element | null {
  if (list.length === 0) return null
  const total = list.reduce((sum, { length }) => sum + length, 0)
  return (
    <section class="card">
      <header>
        <h2 class="grow">
          {plural(list.length, 'artifact')}, {formatBytes(total)}
        </h2>
        <a
          class="button small"
          href={hrefOf(`/archives/${encodeURIComponent(run)}`)}
          download={`${run}.tar`}
        >
          {icons.export} All as tar
        </a>
      </header>
      <div class="body">
        <ArtifactList list={list} />
      </div>
    </section>
  )
}
