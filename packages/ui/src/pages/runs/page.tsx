/** Runs: the list, or one of them. */
import type { JSX } from 'preact'
import type { PageProps } from '../../app/pages.ts'
import { RunPage } from '../run/page.tsx'
import { RunList } from './list.tsx'

export function RunsPage({ path }: PageProps): JSX.Element {
  const [id, tab = 'timeline'] = path
  return id === undefined ? <RunList /> : <RunPage key={id} id={id} tab={tab} />
}
