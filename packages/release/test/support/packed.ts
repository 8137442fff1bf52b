import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deflateRawSync, crc32 } from 'node:zlib'
import { create } from 'tar'
import type { Artifact, PackedPackage } from '../../src/model.ts'

/** A folder that is gone at the end of the test. */
export async function scratch(): Promise<{ folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-release-test-'))
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

export async function artifactOf(file: string): Promise<Artifact> {
  const content = await readFile(file)
  const hash = (kind: string, as: 'hex' | 'base64'): string =>
    createHash(kind).update(content).digest(as)
  return {
    file,
    size: content.length,
    integrity: `sha512-${hash('sha512', 'base64')}`,
    sha1: hash('sha1', 'hex'),
    sha256: hash('sha256', 'hex'),
  }
}

async function tarball(
  folder: string,
  name: string,
  root: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const content = path.join(folder, `${name}.content`)
  for (const [file, text] of Object.entries(files)) {
    const target = path.join(content, root, file)
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, text)
  }
  const file = path.join(folder, name)
  await create({ file, gzip: true, cwd: content, portable: true, mtime: new Date(0) }, [root])
  return file
}

/** A package as `pack/` makes it, small and without a build. */
export async function packNpm(
  folder: string,
  name: string,
  version: string,
  manifest: Readonly<Record<string, unknown>> = {},
  files: Readonly<Record<string, string>> = { 'index.js': `module.exports = '${version}'\n` },
): Promise<PackedPackage> {
  const whole = { name, version, ...manifest }
  const base = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
  const packageJson = JSON.stringify(whole)
  const file = await tarball(folder, base, 'package', { ...files, 'package.json': packageJson })
  return { name, version, ecosystem: 'npm', artifacts: [await artifactOf(file)], manifest: whole }
}

const metadata = (name: string, version: string): string =>
  [
    'Metadata-Version: 2.4',
    `Name: ${name}`,
    `Version: ${version}`,
    'Summary: A part of a test',
    'Classifier: Programming Language :: Python :: 3',
    'Classifier: Topic :: Software Development',
    'Project-URL: Home, https://example.org/',
    'Requires-Dist: anyio>=4; python_version < "3.14"',
    'Requires-Dist: idna',
    'Provides-Extra: fast',
    'Requires-Python: >=3.10',
    'Description-Content-Type: text/markdown',
    '',
    '# Title',
    '',
    'Text with ü.',
    '',
  ].join('\n')

/** A wheel and an sdist. */
export async function packPython(
  folder: string,
  name: string,
  version: string,
  marker = '',
): Promise<PackedPackage> {
  const base = `${name.replaceAll('-', '_')}-${version}`
  const wheel = path.join(folder, `${base}-py3-none-any.whl`)
  const text = metadata(name, version)
  await writeFile(
    wheel,
    zip({
      [`${name.replaceAll(/[-.]/g, '_').toLowerCase()}/__init__.py`]: `version = "${version}"${marker}\n`,
      [`${base}.dist-info/METADATA`]: text,
      [`${base}.dist-info/WHEEL`]:
        'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
      [`${base}.dist-info/RECORD`]: '',
    }),
  )
  const sdist = await tarball(folder, `${base}.tar.gz`, base, {
    'PKG-INFO': text,
    'pyproject.toml': `# ${marker}\n`,
  })
  return {
    name,
    version,
    ecosystem: 'python',
    artifacts: [await artifactOf(wheel), await artifactOf(sdist)],
    manifest: {},
  }
}

/** The smallest possible zip file with these files. */
export function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const raw = Buffer.from(text)
    const data = deflateRawSync(raw)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(raw), 10)
    common.writeUInt32LE(data.length, 14)
    common.writeUInt32LE(raw.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), data])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    const entry = [Buffer.from('PK\u0001\u0002\u0014\u0000'), common, tail, Buffer.from(name)]
    directory.push(Buffer.concat(entry))
    parts.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 0, 'latin1')
  end.writeUInt16LE(directory.length, 8)
  end.writeUInt16LE(directory.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, central, end])
}
