/**
 * The dashboard of one run, served by the process that runs it: so it pauses, resumes, cancels and answers signals too.
 *
 *   opened ── show(run) ──▶ steers the run ── the run ends, or the process does ──▶ closed
 *
 *  Q1  It is open before the first job starts: building and listening hold up no job.
 *  Q2  Without a port that was asked for, the usual one is taken, or a free one when another program has it.
 */
import { isError, type Run } from '@heddle/core'
import type { Journal } from '@heddle/core/lowlevel'
import { startServer, type Server } from '@heddle/server'
import { defaults } from '../serve/serve-settings.ts'
import { findSite } from '../ui/find-site.ts'

/** Milliseconds that open pages have to read their last answer. */
const stopLimit = 1_000

export interface RunDashboard extends AsyncDisposable {
  /** Lets the dashboard steer a run. Returns the address of the run. */
  show(run: Run): string
}

/**
 * *Cancellation*: none: it waits for the disk and the port only.
 * @throws `HDL_CANNOT_LISTEN` on a port that was asked for.
 */
export async function openRunDashboard(
  journal: Journal,
  port: number | undefined,
): Promise<RunDashboard> {
  const server = await listen(journal, port, await findSite())
  return {
    show(run) {
      server.adopt(run)
      return `${server.url}/ui/#/runs/${encodeURIComponent(run.id!)}`
    },
    async [Symbol.asyncDispose]() {
      await server.drain({ deadline: stopLimit })
    },
  }
}

/** Q2. The process watches its loop itself. */
async function listen(
  journal: Journal,
  port: number | undefined,
  ui: string | undefined,
): Promise<Server> {
  const options = { journal, ui, limits: { loopGap: Infinity } }
  try {
    return await startServer({ ...options, port: port ?? defaults.port })
  } catch (error) {
    if (port !== undefined || !isTaken(error)) throw error
    return startServer({ ...options, port: 0 })
  }
}

function isTaken(error: unknown): boolean {
  if (!isError(error, 'HDL_CANNOT_LISTEN')) return false
  return (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE'
}
