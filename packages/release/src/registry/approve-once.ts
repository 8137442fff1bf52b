import { isError } from '@heddle/core'
import type { Kernel, WaitOptions } from '@heddle/core/lowlevel'
import type { PackedPackage } from '../model.ts'
import type { Registry } from './registry.ts'
import { waitVisible } from './visible.ts'

export interface ApproveOptions extends WaitOptions {
  readonly otp?: string
  /** Milliseconds in which a version may still show that was approved before. Default 20,000. */
  readonly settle?: number
  readonly kernel?: Kernel
}

/**
 * Approves a staged version, unless that has been done: by a process that was killed before it could
 * say so, or by a person. A stage that is gone was approved or rejected; only the
 * version itself tells which.
 *
 * *Cancellation*: it may have been approved; asking again finds out.
 * *Fairness*: nothing is held between two requests.
 * @throws `HDL_REGISTRY_AUTH` for a stage that is gone without its version having shown.
 */
export async function approveOnce(
  registry: Registry,
  packed: PackedPackage,
  id: string,
  { otp, settle = 20_000, ...wait }: ApproveOptions,
): Promise<void> {
  if ((await registry.compare(packed, wait)).is === 'ours') return
  try {
    await registry.stages?.approve(id, { ...wait, ...(otp !== undefined && { otp }) })
  } catch (error) {
    if (!isError(error, 'HDL_REGISTRY_AUTH') || error.details.status !== 404) throw error
    const seen = await waitVisible(registry, packed, { ...wait, budget: settle })
    // The version is the answer. Its archive may come later, or take longer than this.
    if (seen.is === 'accepted-not-visible' && seen.lacks === 'version') throw error
  }
}
