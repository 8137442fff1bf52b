/** A tar archive as a stream: POSIX headers, and a PAX record for each name, so that any name and any size fits. */
import type { ArtifactInfo } from '@heddle/core'
import type { ArtifactStore } from '@heddle/core/lowlevel'

const block = 512

/**
 * *Cancellation*: the reader stops reading; open files are closed.
 * @throws the error of the store, in the middle of the stream.
 */
export async function* tarOf(
  store: Pick<ArtifactStore, 'open'>,
  artifacts: readonly ArtifactInfo[],
): AsyncGenerator<Uint8Array> {
  for (const info of artifacts) {
    const { name, length } = info
    const fileName = safeName(name)
    yield* paxOf({ path: fileName, size: String(length) })
    yield header({ name: shortName(fileName), size: length, info, type: '0' })
    await using open = await store.open(info.run, name)
    yield* open.bytes
    yield padding(length)
  }
  yield new Uint8Array(2 * block)
}

/** A name is a text and never a path: nothing is unpacked outside of the folder. */
function safeName(name: string): string {
  const parts = name.split(/[\\/]+/).filter((part) => part !== '' && part !== '.')
  const kept = parts.map((part) => (part === '..' ? '__' : part))
  return kept.join('/') || '_'
}

function shortName(name: string): string {
  return Buffer.from(name)
    .subarray(0, 99)
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e]/g, '_')
}

function* paxOf(values: Readonly<Record<string, string>>): Generator<Uint8Array> {
  const records = Object.entries(values).map(([key, value]) => record(key, value))
  const body = Buffer.from(records.join(''))
  yield header({ name: 'PaxHeader', size: body.length, info: undefined, type: 'x' })
  yield body
  yield padding(body.length)
}

/** `LENGTH KEY=VALUE\n`, where the length counts itself. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes + String(bytes).length
  if (bytes + String(length).length !== length) length = bytes + String(length).length
  return `${length}${rest}`
}

function padding(length: number): Uint8Array {
  return new Uint8Array((block - (length % block)) % block)
}

function header(of: {
  readonly name: string
  readonly size: number
  readonly info: ArtifactInfo | undefined
  readonly type: '0' | 'x'
}): Uint8Array {
  const bytes = Buffer.alloc(block)
  const octal = (value: number, at: number, width: number): void => {
    bytes.write(
      Math.floor(value)
        .toString(8)
        .padStart(width - 1, '0')
        .slice(-(width - 1)),
      at,
    )
  }
  bytes.write(of.name, 0, 99, 'latin1')
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(of.size, 124, 12)
  octal((of.info?.createdAt ?? 0) / 1_000, 136, 12)
  bytes.write('        ', 148)
  bytes.write(of.type, 156)
  bytes.write('ustar\u000000', 257)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148)
  return bytes
}
