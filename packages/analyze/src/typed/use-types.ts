import type { Diagnostic } from '../analysis.ts'
import type { Program } from '../ir/program.ts'
import { assignReach } from '../ir/reach.ts'
import { linkByTypes, openCallsOf, questionsOf } from './link-by-types.ts'
import type { ProgramTypes } from './program-types.ts'

/**
 * Adds the links that only the compiler knows, and reports the ones it did not know.
 *
 * *Cancellation*: none of its own; a request to the compiler ends after its limit.
 */
export async function useTypes(
  program: Program,
  types: ProgramTypes,
): Promise<readonly Diagnostic[]> {
  const open = openCallsOf(program)
  linkByTypes(program, open, await types.symbolsOf(questionsOf(open)))
  // A function with more callers is reached from more places.
  for (const unit of program.units) unit.reach.clear()
  assignReach(program.units, program.classes)
  return types.takeProblems().map(({ message, isLost }) => ({
    kind: 'types-lost',
    message,
    isIncomplete: isLost,
  }))
}
