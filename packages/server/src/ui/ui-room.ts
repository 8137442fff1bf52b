/** The room of the dashboard: its built files, answered from memory. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyReply } from 'fastify'
import { HeddleError } from '@heddle/core'
import { readDashboard, readDashboardFile, showDashboard, showHome } from '../client/contract/ui.ts'
import type { Room } from '../http/room.ts'
import { route, type Call } from '../http/route.ts'
import { readSite, type Site } from './site.ts'

/** Where a published package has them: beside its compiled code, from `src/ui` as from `dist/ui`. */
const ownFolder = path.resolve(import.meta.dirname, '../../dist/site')

/**
 * Reads the built files. Without a folder the package's own are taken, and when there are none there is no dashboard.
 *
 * *Cancellation*: none: it reads some dozen files.
 */
export async function openUiRoom(folder: string | undefined): Promise<Room | undefined> {
  if (folder === undefined && !(await isThere(path.join(ownFolder, 'index.html')))) return undefined
  const site = await readSite(folder ?? ownFolder)
  return {
    name: 'ui',
    routes: [
      route(showHome, ({ reply }) => reply.code(302).header('location', 'ui/').send('')),
      route(showDashboard, ({ reply }) => reply.code(302).header('location', 'ui/').send('')),
      route(readDashboard, (call) => send(site, '', call)),
      route(readDashboardFile, (call) => send(site, `assets/${call.params.name}`, call), {
        tenancy: 'everyone',
      }),
    ],
    start: () => Promise.resolve(),
    drain: () => Promise.resolve({ isClean: true }),
    stop: () => Promise.resolve(),
    stats: () => ({}),
    metrics: () => [],
  }
}

/** @throws `HDL_NO_ROUTE` for a file that is not there. */
function send(
  site: Site,
  name: string,
  { request, reply }: Pick<Call, 'request' | 'reply'>,
): FastifyReply {
  const found = site.answer(name, {
    encodings: request.headers['accept-encoding'],
    etag: request.headers['if-none-match'],
  })
  if (found === undefined) {
    throw new HeddleError('HDL_NO_ROUTE', { method: request.method, path: `/ui/${name}` })
  }
  return reply.code(found.status).headers(found.headers).send(found.body)
}

async function isThere(file: string): Promise<boolean> {
  try {
    await stat(file)
    return true
  } catch {
    return false
  }
}
