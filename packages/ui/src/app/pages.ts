/** The views: what stands in the side bar, which key leads there, and which file draws it. */
import type { ComponentType } from 'preact'
import { type icons } from '../parts/icons.tsx'

export interface PageProps {
  /** The segments of the address behind the name of the page. */
  readonly path: readonly string[]
}

export interface PageEntry {
  readonly name: string
  readonly title: string
  readonly group: 'Work' | 'Machine' | 'Fleet' | 'Access'
  readonly icon: keyof typeof icons
  /** The second key after `g`. */
  readonly key: string
  readonly load: () => Promise<ComponentType<PageProps>>
}

export const pages: readonly PageEntry[] = [
  {
    name: 'runs',
    title: 'Runs',
    group: 'Work',
    icon: 'runs',
    key: 'r',
    load: async () => (await import('../pages/runs/page.tsx')).RunsPage,
  },
]
