import { startServer } from './server.js';
import { startReceiver } from './receivers.js';
import { makeEvent, spread } from './load.js';
const receiver = await startReceiver(); const server = await startServer(process.env.PROF ? { NODE_OPTIONS: '--cpu-prof --cpu-prof-dir=/tmp/prof' } : {});
await server.createWebhook(`${receiver.url}/ok`);
const rs=[];
for (let r=0;r<14;r++){
  const bodies = Array.from({length:100},()=>JSON.stringify(Array.from({length:100},()=>makeEvent())));
  const c0=await server.cpuMs();
  const {arrived}=await receiver.expect(10000); const t=performance.now();
  await spread(100,8,(n)=>server.record(bodies[n-1])); 
  await arrived; const ms=performance.now()-t; const c1=await server.cpuMs();
  rs.push([Math.round(ms), ((c1.server-c0.server)/10).toFixed(0), ((c1.database-c0.database)/10).toFixed(0)].join('/'));
}
console.log(rs.join(' '));
await server.stop(); receiver.stop();
