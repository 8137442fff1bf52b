import { HeddleError } from '@heddle/core'
import type { HttpAnswer } from './request.ts'

/** A page of a proxy that claims success is not an answer of the registry. */
export async function parseAnswer<T>(
  answer: HttpAnswer,
  registry: string,
  read: () => T | Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof HeddleError) throw cause
    throw new HeddleError(
      'HDL_REGISTRY_UNAVAILABLE',
      {
        registry,
        action: 'reading the answer',
        problem: `status ${answer.status} with an answer that cannot be read`,
        outcome: 'not-done',
        tries: 1,
      },
      { cause },
    )
  }
}
