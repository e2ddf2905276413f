# One image for web, workers, beat and migrate. Nothing is written inside it: /data is the volume, /tmp a tmpfs.
FROM python:3.12-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
# Pango lays out the text of the summary's PDF.
RUN apt-get update && apt-get install -y --no-install-recommends libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core && rm -rf /var/lib/apt/lists/*
COPY requirements.lock ./
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY manage.py ./
COPY config config
COPY parsers parsers
COPY rules rules
COPY incidents incidents
COPY templates templates
COPY static static
# Nobody can write here later: byte code, rules and signatures are compiled now.
RUN PYTHONDONTWRITEBYTECODE= python -m rules.writing.prepare
# A number, so that a cluster can see without looking into the image that it is not root.
RUN mkdir /data && chown 10001:10001 /data
USER 10001:10001
ENV EXHIBIT_VAR=/data EXHIBIT_LOG_FORMAT=json
VOLUME /data
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--http", "config.http:Protocol", "--lifespan", "on", "--timeout-graceful-shutdown", "10", "--no-access-log", "--no-server-header"]
