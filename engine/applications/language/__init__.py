"""Attribution for language models: tasks, fine-tuning, behaviors, cached gradients, estimators and their evaluation.

    records → tasks → encoding → models, lora, finetune → behaviors, gradients, cache → estimators → detection, quality
"""
