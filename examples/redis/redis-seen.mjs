export function redisSeen(redis) {
  return {
    async once(id, work) {
      const key = `posthorn:${id}`;
      const aMinute = { type: 'EX', value: 60 };
      // One process at a time. If it dies, another can try after a minute.
      if ((await redis.set(key, 'working', { condition: 'NX', expiration: aMinute })) === null) {
        if ((await redis.get(key)) === 'done') return false;
        throw new Error(`${id} is being handled by another process`); // 500: it is sent again later
      }
      try {
        await work();
      } catch (error) {
        await redis.del(key);
        throw error;
      }
      // Events can be replayed for 90 days.
      await redis.set(key, 'done', { expiration: { type: 'EX', value: 90 * 86_400 } });
      return true;
    },
  };
}
