import { Mutex } from '@heddle/core/lowlevel'

const locks = new Map<string, Mutex>()
const totals = new Map<string, number>()

export function totalOf(account: string): number {
  return totals.get(account) ?? 0
}

/** Adds to an account, one after the other for each account. */
export async function add(
  account: string,
  amount: number,
  audit: () => Promise<void>,
): Promise<void> {
  const lock = locks.get(account) ?? new Mutex()
  locks.set(account, lock)
  const permit = await lock.acquire()
  try {
    const total = totals.get(account) ?? 0
    await audit()
    totals.set(account, total + amount)
  } finally {
    permit.release()
    locks.delete(account)
  }
}
