/** The views: the entries of the side bar, their keys, and the file that draws each. */
import type { ComponentType } from 'preact'
import { has } from '../api/features.ts'
import { may, type Role } from '../api/session.ts'
import { type icons } from '../parts/icons.tsx'
import type { Address } from './route.ts'

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
  /** The route without which the server has nothing to show here. */
  readonly needs: string
  /** Who sees it in the side bar; every viewer when absent. */
  readonly role?: Role
  readonly load: () => Promise<ComponentType<PageProps>>
}

const pages: readonly PageEntry[] = [
  {
    name: 'runs',
    title: 'Runs',
    group: 'Work',
    icon: 'runs',
    key: 'r',
    needs: 'GET /runs',
    load: async () => (await import('../pages/runs/page.tsx')).RunsPage,
  },
  {
    name: 'jobs',
    title: 'Jobs',
    group: 'Work',
    icon: 'jobs',
    key: 'j',
    needs: 'GET /jobs',
    load: async () => (await import('../pages/jobs/page.tsx')).JobsPage,
  },
  {
    name: 'schedules',
    title: 'Schedules',
    group: 'Work',
    icon: 'schedule',
    key: 's',
    needs: 'GET /schedules',
    load: async () => (await import('../pages/schedules/page.tsx')).SchedulesPage,
  },
  {
    name: 'load',
    title: 'Load',
    group: 'Machine',
    icon: 'load',
    key: 'l',
    needs: 'GET /healthz',
    load: async () => (await import('../pages/load/page.tsx')).LoadPage,
  },
  {
    name: 'loop',
    title: 'Event loop',
    group: 'Machine',
    icon: 'loop',
    key: 'e',
    needs: 'GET /loop',
    load: async () => (await import('../pages/loop/page.tsx')).LoopPage,
  },
  {
    name: 'boundaries',
    title: 'Boundaries',
    group: 'Machine',
    icon: 'boundaries',
    key: 'b',
    needs: 'GET /inventory',
    load: async () => (await import('../pages/boundaries/page.tsx')).BoundariesPage,
  },
  {
    name: 'fleet',
    title: 'Fleet',
    group: 'Fleet',
    icon: 'fleet',
    key: 'f',
    needs: 'GET /fleet/workers',
    load: async () => (await import('../pages/fleet/page.tsx')).FleetPage,
  },
  {
    name: 'campaigns',
    title: 'Campaigns',
    group: 'Fleet',
    icon: 'campaign',
    key: 'c',
    needs: 'GET /campaigns',
    load: async () => (await import('../pages/campaigns/page.tsx')).CampaignsPage,
  },
  {
    name: 'people',
    title: 'People',
    group: 'Access',
    icon: 'people',
    key: 'p',
    needs: 'GET /users',
    role: 'admin',
    load: async () => (await import('../pages/people/page.tsx')).PeoplePage,
  },
  {
    name: 'audit',
    title: 'Audit',
    group: 'Access',
    icon: 'audit',
    key: 'a',
    needs: 'GET /actions',
    role: 'operator',
    load: async () => (await import('../pages/audit/page.tsx')).AuditPage,
  },
]

/** The pages that the server has and the session may see (E3). */
export function offeredPages(): readonly PageEntry[] {
  return pages.filter((page) => has(page.needs) && may(page.role ?? 'viewer'))
}

/** The page that an address names; the list of runs when it names none. */
export function pageOf({ path: [name = 'runs'] }: Address): PageEntry | undefined {
  return pages.find((page) => page.name === name)
}
