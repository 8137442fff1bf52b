/**
 * One bench at a time on this machine: two that run at once measure each other.
 *
 * The lock is a kernel lock, so that a bench that was killed holds nothing.
 */
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isError } from '@heddle/core'
import { holdLock, type HeldLock } from '@heddle/core/lowlevel'

/** Milliseconds between two attempts to take the lock. */
const retryEvery = 250

export interface MachineLockOptions {
  /** The lock file; by default the one in the temporary folder of the system. */
  readonly file?: string | undefined
  readonly command: string
  /** Called once, when another bench has the lock. */
  readonly onWait: (holder: string) => void
}

/** Takes the lock; waits while another bench has it. */
export async function holdMachine(options: MachineLockOptions): Promise<HeldLock> {
  const file = options.file ?? path.join(os.tmpdir(), 'heddle-bench.lock')
  for (let isReported = false; ; await sleep(retryEvery)) {
    try {
      return await holdLock(file, { command: options.command })
    } catch (error) {
      if (!isError(error, 'HDL_LOCKED')) throw error
      if (!isReported) options.onWait(error.details.holder)
      isReported = true
    }
  }
}

/** How busy the machine is. */
export interface MachineLoad {
  /** Processes that run or wait to run, on average over the last 1, 5 and 15 minutes. */
  readonly load: readonly number[]
  readonly cores: number
}

export function machineLoad(): MachineLoad {
  return {
    load: os.loadavg().map((value) => Math.round(value * 100) / 100),
    cores: os.availableParallelism(),
  }
}

/** `load 0.31 0.25 0.12 on 2 cores` */
export function describeLoad({ load, cores }: MachineLoad): string {
  return `load ${load.map((value) => value.toFixed(2)).join(' ')} on ${cores} cores`
}
