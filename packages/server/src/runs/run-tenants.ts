/** Whose runs are: a run has the tenant of the caller that started or scheduled it, as a label. The common one has none. */
import { HeddleError } from '@heddle/core'
import { outcomeOf, type Journal, type RunOutcome } from '@heddle/core/lowlevel'
import { commonTenant, type Caller } from '../http/caller.ts'
import { maySee, tenantsOf } from '../http/tenancy.ts'

type RunListOptions = Parameters<Journal['list']>[0]

/** The label of a tenant's run. */
export function tenantLabel(tenant: string = commonTenant): { readonly tenant?: string } {
  return tenant === commonTenant ? {} : { tenant }
}

/** The runs that a caller may see, for a list. */
export function ownRuns(caller: Caller): Pick<RunListOptions, 'labels'> {
  const tenant = tenantsOf(caller)
  return tenant === undefined ? {} : { labels: { tenant: tenantLabel(tenant).tenant } }
}

/**
 * N1. Undefined where no look is needed: an admin sees all runs.
 *
 * *Cancellation*: none: it reads one row.
 * @throws `HDL_UNKNOWN_RUN`.
 */
export function checkRun(
  journal: Pick<Journal, 'overview' | 'address'>,
  run: string,
  caller: Caller,
): Promise<void> | undefined {
  return tenantsOf(caller) === undefined ? undefined : checkOwner(journal, run, caller)
}

async function checkOwner(
  journal: Pick<Journal, 'overview' | 'address'>,
  run: string,
  caller: Caller,
): Promise<void> {
  const { options } = await journal.overview(run)
  const labels = (options['labels'] ?? {}) as Readonly<Record<string, string>>
  if (maySee(caller, labels['tenant'])) return
  throw new HeddleError('HDL_UNKNOWN_RUN', { run, address: journal.address })
}

/** Runs that are read when those of one tenant are counted, newest first. */
const mostCounted = 10_000

/**
 * How many runs of a tenant have which outcome, among the newest 10,000 runs of the journal.
 *
 * *Cancellation*: none: its work is bounded.
 */
export async function tallyOf(
  journal: Pick<Journal, 'list'>,
  labels: NonNullable<RunListOptions['labels']>,
): Promise<Partial<Record<RunOutcome, number>>> {
  const counts: Partial<Record<RunOutcome, number>> = {}
  let left = mostCounted
  let before: number | undefined
  do {
    const limit = Math.min(1_000, left)
    const page = await journal.list({
      labels,
      limit,
      most: limit,
      ...(before !== undefined && { before }),
    })
    for (const run of page.runs) {
      const outcome = outcomeOf(run)
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
    before = page.next
    left -= limit
  } while (before !== undefined && left > 0)
  return counts
}
