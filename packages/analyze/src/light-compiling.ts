import { setFlagsFromString } from 'node:v8'

/**
 * Leaves out V8's last optimising compiler in this process, for good.
 *
 * It is for a process in which several threads analyse once: each of them compiles the same, for code
 * that does not run long enough to pay for it (docs/decisions/0327). Everything in the process is
 * concerned, so it is the choice of who owns the process.
 */
export function compileLightly(): void {
  setFlagsFromString('--no-turbofan')
}
