import { workerData } from 'node:worker_threads'
import { hostFile } from '../../../sqlite/host-thread.ts'
import type { DiskThreadData } from './disk-messages.ts'
import { DiskRole } from './disk-role.ts'

hostFile(new DiskRole(workerData as DiskThreadData), { looksOut: false })
