/** Methods of texts and lists that patterns are put together with. */
import { regExpVerdict } from '../../regexp/verdict.ts'
import { isObject, isPattern, isPrimitive, itemsOf, list, unknown } from './value.ts'
import type { Value } from './value.ts'

const maxText = 20_000

export function callMethod(owner: Value, name: string, values: readonly Value[]): Value {
  if (typeof owner === 'string') return ofText(owner, name, values)
  const items = itemsOf(owner)
  return items === undefined || !isObject(owner) ? unknown : ofList(items, name, values, owner)
}

function ofText(text: string, name: string, [first, second]: readonly Value[]): Value {
  switch (name) {
    case 'replace':
    case 'replaceAll':
      return replaced(text, name, first, second)
    case 'repeat':
      return typeof first === 'number' && text.length * first <= maxText
        ? text.repeat(first)
        : unknown
    case 'concat':
      return typeof first === 'string' ? text + first : unknown
    case 'split':
      return typeof first === 'string' ? list(text.split(first)) : unknown
    case 'slice':
    case 'substring':
      return typeof first === 'number' && (second === undefined || typeof second === 'number')
        ? text[name](first, second)
        : unknown
    case 'trim':
    case 'toLowerCase':
    case 'toUpperCase':
    case 'toString':
      return text[name]()
    default:
      return unknown
  }
}

/** Only with patterns that cannot take long. */
function replaced(
  text: string,
  name: 'replace' | 'replaceAll',
  first: Value,
  second: Value,
): Value {
  if (typeof second !== 'string') return unknown
  if (typeof first === 'string') return text[name](first, second)
  if (!isPattern(first) || regExpVerdict(first.source, first.flags).kind !== 'linear')
    return unknown
  return text[name](new RegExp(first.source, first.flags), second)
}

function ofList(
  items: readonly Value[],
  name: string,
  values: readonly Value[],
  owner: { readonly fields: Map<string, Value> },
): Value {
  const [first] = values
  switch (name) {
    case 'join':
      return items.every(isPrimitive) && (first === undefined || typeof first === 'string')
        ? items.join(first)
        : unknown
    case 'push':
      for (const value of values) owner.fields.set(String(owner.fields.size), value)
      return owner.fields.size
    case 'concat': {
      const more = itemsOf(first)
      return more === undefined ? unknown : list([...items, ...more])
    }
    default:
      return unknown
  }
}
